/* Whether a sanitizer has memory of its own beside the program's: it would be counted, and it limits single blocks. SPDX-License-Identifier: BSD-3-Clause */
#ifndef SHADOWED_H
#define SHADOWED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SHADOWED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
enum { SHADOWED = 1 };
#else
enum { SHADOWED = 0 };
#endif
#else
enum { SHADOWED = 0 };
#endif

#endif
