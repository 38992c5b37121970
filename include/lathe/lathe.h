/* All of lathe. SPDX-License-Identifier: BSD-3-Clause */
#ifndef LATHE_LATHE_H
#define LATHE_LATHE_H

#include "lathe/base.h"
#include "lathe/circuit.h"
#include "lathe/cluster.h"
#include "lathe/csv.h"
#include "lathe/dataset.h"
#include "lathe/dataset_config.h"
#include "lathe/device.h"
#include "lathe/features.h"
#include "lathe/fields.h"
#include "lathe/files.h"
#include "lathe/gram.h"
#include "lathe/graph.h"
#include "lathe/json.h"
#include "lathe/npy.h"
#include "lathe/operator.h"
#include "lathe/options.h"
#include "lathe/problem.h"
#include "lathe/qp.h"
#include "lathe/qsvm.h"
#include "lathe/report.h"
#include "lathe/rng.h"
#include "lathe/solve.h"
#include "lathe/trace.h"
#include "lathe/tune.h"

#endif
