//! Tables, as Markdown, and limits that the ratios of one run are compared with.

/// What has been found, apart from the tables, which are printed as they come.
pub struct Report {
    limits: Vec<Limit>,
}

struct Limit {
    what: String,
    value: f64,
    bound: Bound,
}

/// On which side of a number a value should be.
#[derive(Clone, Copy)]
pub enum Bound {
    /// At most this.
    AtMost(f64),
    /// At least this.
    AtLeast(f64),
}

impl Report {
    /// An empty report.
    pub fn new() -> Report {
        Report { limits: Vec::new() }
    }

    /// Notes a value that should keep within a bound.
    pub fn expect(&mut self, what: impl Into<String>, value: f64, bound: Bound) {
        self.limits.push(Limit { what: what.into(), value, bound });
    }

    /// Prints the values, and returns whether all keep within their bounds.
    pub fn conclude(self) -> bool {
        if self.limits.is_empty() {
            return true;
        }
        let mut are_kept = true;
        let mut table = Table::new("Limits", &["what", "measured", "limit", "kept"]);
        for Limit { what, value, bound } in self.limits {
            let (limit, kept) = match bound {
                Bound::AtMost(limit) => (format!("at most {limit:.3}"), value <= limit),
                Bound::AtLeast(limit) => (format!("at least {limit:.3}"), value >= limit),
            };
            are_kept &= kept;
            table.row(&[
                what,
                format!("{value:.3}"),
                limit,
                if kept { "yes" } else { "NO" }.into(),
            ]);
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
    pub fn new(title: &str, columns: &[&str]) -> Table {
        let columns: Vec<String> = columns.iter().map(|column| column.to_string()).collect();
        let rule = columns.iter().map(|_| "---".to_owned()).collect();
        Table { title: title.into(), rows: vec![columns, rule] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: &[String]) {
        assert_eq!(cells.len(), self.rows[0].len());
        self.rows.push(cells.to_vec());
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
