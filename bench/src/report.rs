//! Tables, as Markdown, and limits that the ratios of one run are compared with.

/// Findings apart from the tables, which are printed as they come.
pub struct Report {
    limits: Vec<Limit>,
}

struct Limit {
    what: String,
    value: f64,
    limit: f64,
    at_most: bool,
}

impl Report {
    /// An empty report.
    pub fn new() -> Report {
        Report { limits: Vec::new() }
    }

    /// Notes a value that should be at most this.
    pub fn at_most(&mut self, what: impl Into<String>, value: f64, limit: f64) {
        self.limits.push(Limit { what: what.into(), value, limit, at_most: true });
    }

    /// Notes a value that should be at least this.
    pub fn at_least(&mut self, what: impl Into<String>, value: f64, limit: f64) {
        self.limits.push(Limit { what: what.into(), value, limit, at_most: false });
    }

    /// Prints the values, and returns whether all keep within their bounds.
    pub fn conclude(self) -> bool {
        if self.limits.is_empty() {
            return true;
        }
        let mut are_kept = true;
        let mut table = Table::new("Limits", &["what", "measured", "limit", "kept"]);
        for Limit { what, value, limit, at_most } in self.limits {
            let (side, kept) =
                if at_most { ("most", value <= limit) } else { ("least", value >= limit) };
            are_kept &= kept;
            let kept = if kept { "yes" } else { "NO" };
            table.row(what, [format!("{value:.3}"), format!("at {side} {limit:.3}"), kept.into()]);
        }
        table.print();
        are_kept
    }
}

/// A table whose columns are aligned when it is printed.
pub struct Table {
    title: String,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table with these columns.
    pub fn new(title: impl Into<String>, columns: &[&str]) -> Table {
        let columns: Vec<String> = columns.iter().map(|column| column.to_string()).collect();
        let rule = columns.iter().map(|_| "---".to_owned()).collect();
        Table { title: title.into(), rows: vec![columns, rule] }
    }

    /// A table with a column for each number of sessions.
    pub fn of_sessions(title: impl Into<String>, sessions: &[usize]) -> Table {
        let sessions: Vec<_> = sessions.iter().map(usize::to_string).collect();
        let columns = ["sessions"].into_iter().chain(sessions.iter().map(String::as_str));
        Table::new(title, &columns.collect::<Vec<_>>())
    }

    /// Adds a row: its name, and the other columns.
    pub fn row(&mut self, name: impl ToString, cells: impl IntoIterator<Item = String>) {
        let row: Vec<_> = [name.to_string()].into_iter().chain(cells).collect();
        assert_eq!(row.len(), self.rows[0].len());
        self.rows.push(row);
    }

    /// Prints the table.
    pub fn print(&self) {
        println!("\n{}\n", self.title);
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.rows[0].len()).map(width).collect();
        for row in &self.rows {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            println!("{}", cells.join(" | ").trim_end());
        }
    }
}
