"""What scripts import from PyGRANSO's private package, and how a run is set up."""
