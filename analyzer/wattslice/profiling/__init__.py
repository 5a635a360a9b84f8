"""Branch profiles measured on test data: interpreter, probes, data sets."""
