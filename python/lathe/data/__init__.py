"""What ``lathe.Dataset`` is made of: readers and lazy arrays, columns and parameters by name, tables, splits, statistics, cards."""
