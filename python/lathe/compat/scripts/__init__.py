"""The package that holds pipeline_backends; used where a script has no package of this name of its own."""
