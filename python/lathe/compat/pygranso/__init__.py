"""PyGRANSO's modules and names, on lathe: ``from pygranso.pygranso import pygranso``.

pygranso.py is the solver's call, pygransoStruct.py the attribute bag, private/ what scripts import from there, and
private/{points,problem,options,results}.py how a run is set up and read.
"""
