# Finds each rule that tests/mutants/shell lists in the sources of a tree, and prints its number, its test and its source.
# Fails if it is not in exactly one place. The list says what its lines mean.
#
#   perl tests/mutants/put-rules.pl TREE        does nothing else
#   perl tests/mutants/put-rules.pl TREE break  puts what breaks it beside each rule: see tools/break-shell
use strict;
use warnings;
my ($tree, $break) = @ARGV;
my $list = "$tree/tests/mutants/shell";
my %text;
for my $file (split /\n/, `find '$tree/src' '$tree/crates/snowflake-convert/src' '$tree/crates/snowflake-server/src' -name '*.rs'`) {
    open(my $in, '<', $file) or die "$file: $!";
    local $/;
    $text{$file} = <$in>;
}
open(my $in, '<', $list) or die "$list: $!";
my @lines = grep { !/^\s*(#|$)/ } <$in>;
chomp @lines;
my $number = 0;
while (my ($test, $sound, $broken) = splice @lines, 0, 3) {
    $number++;
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
    die "this rule is in $places places: $sound\n" unless $places == 1;
    $text{$found[0]} =~ /$pattern/;
    my ($from, $length) = ($-[0], $+[0] - $-[0]);
    my ($all, %name) = ($+{all}, %+);
    my $offset = index(substr($text{$found[0]}, $from), $all) + $from;
    (my $instead = $broken) =~ s/\$(\w+)/$name{$1}/g;
    my $either = "if crate::is_broken($number) { $instead } else { $all }";
    $either = "($either)" unless $all =~ /;\s*$/;
    substr($text{$found[0]}, $offset, length $all) = $either;
    print "$number | $test | $sound\n";
}
for my $file ($break ? keys %text : ()) {
    $text{$file} .= <<'RUST' if $file =~ m{/src/lib\.rs$};

/// Whether the rule of this number is broken.
#[allow(dead_code)]
#[cold]
pub(crate) fn is_broken(rule: u32) -> bool {
    static BROKEN: std::sync::OnceLock<Option<u32>> = std::sync::OnceLock::new();
    *BROKEN.get_or_init(|| std::env::var("SNOWFLAKE_BROKEN").ok()?.parse().ok()) == Some(rule)
}
RUST
    open(my $out, '>', $file) or die "$file: $!";
    print $out $text{$file};
}
