//! The file of passwords, as libpq reads it.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// The password for host, port, database and user, if the user's file has one.
pub fn password(wanted: [&str; 4]) -> Option<String> {
    let path = env::var_os("PGPASSFILE").map(PathBuf::from).or_else(|| {
        let home = env::var_os("HOME")?;
        Some(Path::new(&home).join(".pgpass"))
    })?;
    let metadata = fs::metadata(&path).ok()?;
    if metadata.is_file() && metadata.permissions().mode() & 0o077 != 0 {
        eprintln!(
            "snowflake-widen: warning: password file \"{}\" has group or world access; \
             permissions should be u=rw (0600) or less",
            path.display()
        );
        return None;
    }
    find(&fs::read_to_string(path).ok()?, wanted)
}

/// The last field of the first line whose other fields are these, or `*`.
fn find(text: &str, wanted: [&str; 4]) -> Option<String> {
    text.lines().filter(|line| !line.starts_with('#')).map(fields).find_map(|mut fields| {
        let matches = fields.len() >= 5
            && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted);
        matches.then(|| fields.split_off(4).join(":"))
    })
}

/// The fields of a line, in which `\` escapes `:` and itself.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match letter {
            ':' => fields.push(String::new()),
            '\\' => fields.last_mut().expect("one").extend(letters.next()),
            _ => fields.last_mut().expect("one").push(letter),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use crate::passfile::find;

    #[test]
    fn the_first_line_that_matches_counts() {
        let text = "# h:1:d:u:comment\nh:1:other:u:no\n*:*:d:u:a\\:b\\\\:c\nh:1:d:u:later\n";
        assert_eq!(find(text, ["h", "1", "d", "u"]), Some("a:b\\:c".into()));
        assert_eq!(find(text, ["h", "1", "x", "u"]), None);
        assert_eq!(find("h:1:d:u", ["h", "1", "d", "u"]), None);
    }
}
