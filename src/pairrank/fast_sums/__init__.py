"""Fast sums of one function at many places: box sums, and Beaulieu's series for erfc."""
