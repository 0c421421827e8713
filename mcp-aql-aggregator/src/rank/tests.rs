//! What holds of every ranking.
