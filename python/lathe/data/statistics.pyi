from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

class Statistics(dict[str, Any]):
    def normalize(self, name: str, values: ArrayLike, how: Literal["standard", "robust"] = "standard") -> NDArray[np.float32]: ...
