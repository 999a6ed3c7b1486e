//! Tables without lines, as wide as they need to be.

use comfy_table::{ContentArrangement, Table as Grid, TableStyle};

/// A table with a heading.
#[derive(Debug)]
pub struct Table(Grid);

impl Table {
    /// An empty table.
    pub fn new(heading: &[&str]) -> Self {
        let mut grid = Grid::new();
        grid.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
        grid.set_header(heading.iter().map(|title| title.to_uppercase()));
        Self(grid)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells);
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.0.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        f.write_str(&lines.join("\n"))
    }
}
