# Finds the rules of the lists beside this file in the sources of a tree, and prints, for each test, the rule's list and
# number, the suite, the test and the source. Fails if a rule is not in exactly one place.
#
#   perl tests/mutants/put-rules.pl TREE        does nothing else
#   perl tests/mutants/put-rules.pl TREE break  puts what breaks it beside each rule: see tools/break-rules
#
# A rule has a line for the suite and the name of each test that has to notice, and then two lines, or more such pairs:
# the source, and what takes its place. An empty line ends it. In the source, $name stands for any name, so that a variable
# can be renamed. White space does not matter. If [[ and ]] are there, only what is between them is replaced, and the rest
# says where it is. {} takes the place of a statement. The rules are broken in the order of the lists, so what a rule puts
# in the place of a source must not be found by those that follow.
use strict;
use warnings;
my ($tree, $break) = @ARGV;
my %text;
my $sources = join ' ', map { "'$tree/$_'" } qw(src crates/snowflake-core/src);
for my $file (split /\n/, `find $sources -name '*.rs'`) {
    open(my $in, '<', $file) or die "$file: $!";
    local $/;
    $text{$file} = <$in>;
}
my $number = 0;
for my $list (qw(core promises shell)) {
    open(my $in, '<', "$tree/tests/mutants/$list") or die "$list: $!";
    my $rules = join '', grep { !/^#/ } <$in>;
    for my $rule (split /\n\n+/, $rules) {
        my @lines = grep { /\S/ } split /\n/, $rule;
        my @tests;
        push @tests, shift @lines while @lines && $lines[0] =~ /^\w+ \| [\w:\/.]+$/;
        next unless @tests;
        $number++;
        print "$list | $number | $_ | $lines[0]\n" for @tests;
        break_one($list, $number, splice @lines, 0, 2) while @lines;
    }
}

# Puts beside the source what breaks it.
sub break_one {
    my ($list, $number, $sound, $broken) = @_;
    # White space is left out where it says nothing, and a name is the same one wherever it stands.
    my (%seen, $pattern);
    for my $token ($sound =~ /\[\[|\]\]|\$\w+|\w+|\S/g) {
        my $space = defined $pattern ? '\s*' : '';
        if ($token eq '[[') { $pattern .= $space . '(?<all>'; next }
        if ($token eq ']]') { $pattern .= ')'; next }
        if ($token =~ /^\$(.+)/) { $token = $seen{$1}++ ? "\\k<$1>" : "(?<$1>\\b[A-Za-z_]\\w*)" }
        elsif ($token =~ /^\w/) { $token = "\\b$token\\b" }
        else { $token = quotemeta $token }
        $pattern .= (defined $pattern && $pattern !~ /\(\?<all>$/ ? $space : '') . $token;
    }
    # rustfmt writes a comma after the last of several lines.
    $pattern =~ s/\\s\*\\\)/,?\\s*\\)/g;
    $pattern = "(?<all>$pattern)" unless $pattern =~ /<all>/;
    my @found = grep { $text{$_} =~ /$pattern/ } keys %text;
    my $places = 0;
    for (@found) { my $t = $text{$_}; $places++ while $t =~ /$pattern/g }
    die "tests/mutants/$list: this rule is in $places places, not in one: $sound\n" unless $places == 1;
    $text{$found[0]} =~ /$pattern/;
    my ($from, $length) = ($-[0], $+[0] - $-[0]);
    my ($all, %name) = ($+{all}, %+);
    my $offset = index(substr($text{$found[0]}, $from), $all) + $from;
    (my $instead = $broken) =~ s/\$(\w+)/$name{$1}/g;
    my $either = "if crate::is_broken($number) { $instead } else { $all }";
    $either = "($either)" unless $all =~ /;\s*$/;
    substr($text{$found[0]}, $offset, length $all) = $either;
}

for my $file ($break ? keys %text : ()) {
    # The library's allocator asks, too, so nothing is allocated there. The core has no unsafe code.
    $text{$file} .= <<'RUST' if $file =~ m{snowflake-core/src/lib\.rs$};

/// Whether the rule of this number is broken.
#[allow(dead_code)]
#[cold]
pub(crate) fn is_broken(rule: u32) -> bool {
    static BROKEN: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    *BROKEN.get_or_init(|| std::env::var("SNOWFLAKE_BROKEN").ok()?.parse().ok()) == Some(rule)
}
RUST
    $text{$file} .= <<'RUST' if $file eq "$tree/src/lib.rs";

/// Whether the rule of this number is broken.
#[allow(dead_code)]
#[cold]
pub(crate) fn is_broken(rule: u32) -> bool {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    static BROKEN: AtomicU32 = AtomicU32::new(u32::MAX);
    if BROKEN.load(Relaxed) == u32::MAX {
        // SAFETY: the name and the value are strings.
        let value = unsafe {
            let value = libc::getenv(c"SNOWFLAKE_BROKEN".as_ptr());
            if value.is_null() { c"" } else { std::ffi::CStr::from_ptr(value) }
        };
        let number = value.to_str().ok().and_then(|number| number.parse().ok());
        BROKEN.store(number.unwrap_or(0), Relaxed);
    }
    BROKEN.load(Relaxed) == rule
}
RUST
    open(my $out, '>', $file) or die "$file: $!";
    print $out $text{$file};
}
