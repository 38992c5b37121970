"""The place from which scripts also import the gradients."""
from .getCiGradVec import getCiGradVec, getCiGradVecDL  # noqa: F401
from .getObjGrad import getObjGrad, getObjGradDL  # noqa: F401
