"""Files in and out: svmlight, CSV, Parquet, model files."""
