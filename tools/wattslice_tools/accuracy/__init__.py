"""Writers of the accuracy pages."""
