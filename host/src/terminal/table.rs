//! Tables without lines, as wide as they need to be.

use comfy_table::{ContentArrangement, Table as Grid, TableStyle};

/// Longest cell, in bytes. Cells hold words of plugins and paths.
const MAX_CELL_BYTES: usize = 1024;

/// A table with a heading.
#[derive(Debug)]
pub struct Table(Grid);

impl Table {
    /// An empty table.
    pub fn new(heading: &[&str]) -> Self {
        let mut grid = Grid::new();
        grid.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
        grid.set_header(heading.iter().map(|title| title.to_uppercase()));
        for column in grid.column_iter_mut() {
            column.set_padding((0, 2));
        }
        Self(grid)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells.into_iter().map(|cell| hooks::fault::one_line(&cell, MAX_CELL_BYTES)));
    }
}

impl std::fmt::Display for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let text = self.0.to_string();
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        f.write_str(&lines.join("\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells_and_cells_are_one_line() {
        let mut table = Table::new(&["name", "state"]);
        table.row(["a".to_owned(), "on".to_owned()]);
        table.row(["longer".to_owned(), "two\nlines\u{1b}[2J".to_owned()]);
        assert_eq!(table.to_string(), "NAME    STATE\na       on\nlonger  two lines\\u{1b}[2J");
    }
}
