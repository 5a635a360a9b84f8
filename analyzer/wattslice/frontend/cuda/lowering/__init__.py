"""From libclang's syntax tree to `wattslice.ir`: types, places, expressions, calls, statements, programs."""
