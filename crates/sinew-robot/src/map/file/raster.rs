/// What is known about a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ground {
    /// Nothing.
    #[default]
    Unknown,
    /// A robot can be there.
    Free,
    /// Something is there.
    Occupied,
}

/// A map from above: squares in rows, from the lowest y and x on.
#[derive(Debug, Clone, PartialEq)]
pub struct Raster {
    /// Squares along x.
    pub width: usize,
    /// Squares along y.
    pub height: usize,
    /// The lower left corner of the first square, metres.
    pub origin: [f64; 2],
    /// The side of a square, metres.
    pub resolution: f64,
    /// The squares.
    pub squares: Vec<Ground>,
}

impl Raster {
    /// Squares about which nothing is known.
    pub fn unknown(width: usize, height: usize, origin: [f64; 2], resolution: f64) -> Self {
        Raster {
            width,
            height,
            origin,
            resolution,
            squares: vec![Ground::Unknown; width.saturating_mul(height)],
        }
    }

    /// The square at a column and a row; unknown outside.
    pub fn at(&self, column: usize, row: usize) -> Ground {
        let inside = column < self.width && row < self.height;
        let index = row.wrapping_mul(self.width).wrapping_add(column);
        self.squares.get(index).copied().filter(|_| inside).unwrap_or_default()
    }

    /// Sets the square at a column and a row, if there is one.
    pub fn set(&mut self, column: usize, row: usize, ground: Ground) {
        if column < self.width
            && let Some(square) = self.squares.get_mut(row * self.width + column)
        {
            *square = ground;
        }
    }
}
