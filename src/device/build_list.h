/* Kernels that will be wanted, compiled before anybody makes them. SPDX-License-Identifier: BSD-3-Clause

   What makes kernels of text is given lt_build_list_device in the device's place: it behaves as that device, but notes texts instead of
   compiling them, and hands out kernels that cannot run. The list then has each text compiled once, those noted first before the others, on
   all threads of a pool. Kernels made afterwards on the device itself find their machine code. */
#ifndef LT_DEVICE_BUILD_LIST_H
#define LT_DEVICE_BUILD_LIST_H

#include "device/stream.h"

typedef struct lt_build_list lt_build_list;

enum { LT_BUILDS_KEPT = 1024 }; /* modules that a device keeps loaded while nobody uses them: longer lists are of no use */

/* Borrows dev. */
lt_status  lt_build_list_create(lt_device *dev, lt_build_list **out);
void       lt_build_list_destroy(lt_build_list *l); /* NULL is allowed; kernels made on its device must be gone */
/* Safe from several threads. */
lt_device *lt_build_list_device(lt_build_list *l);
int64_t    lt_build_list_texts(const lt_build_list *l);
/* Compiles what is not known and loads all of it. before: called for each text, from any thread; what it returns ends the run. NULL: nothing is called. */
lt_status  lt_build_list_run(lt_build_list *l, lt_pool *pool, lt_status (*before)(void *ctx), void *ctx);
/* Only compiles: the device may have work meanwhile, which loading would wait for. */
lt_status  lt_build_list_compile(lt_build_list *l, lt_pool *pool, lt_status (*before)(void *ctx), void *ctx);
/* How many texts have to be compiled; those that need not be are at hand. */
lt_status  lt_build_list_find(lt_build_list *l, lt_pool *pool, int64_t *missing);

#endif
