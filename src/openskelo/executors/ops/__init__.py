"""The eight ops of a plan: one file each does the work of a step whose arguments are materialised."""
