#!/bin/sh
# Models that Pyomo writes and whose answers it reads: pyomo.sh FOLDER-OF-LATHE-AMPL. SPDX-License-Identifier: BSD-3-Clause
exec "${LATHE_TEST_PYTHON:-python3}" "$(dirname "$0")/pyomo_models.py" "$1"
