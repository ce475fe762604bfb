"""What a pair costs, as small frozen records; each names its pair sum."""
