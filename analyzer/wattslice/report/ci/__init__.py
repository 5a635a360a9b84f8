"""Reports for CI systems and editors' problem lists."""
