"""One file per group of rows: ID, ORDER, run(ctx) -> list of kit.row.row()."""
