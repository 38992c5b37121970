/* What machine code of a GPU says of itself: parameters, registers, shared memory of an entry, read from the sections that every cubin has.
   SPDX-License-Identifier: BSD-3-Clause */
#ifndef LT_TEST_CUBIN_H
#define LT_TEST_CUBIN_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct cubin_entry {
    int    n_params;
    bool   pointers;      /* every parameter has eight bytes */
    size_t shared_bytes;  /* static, without what the device takes of every block */
    int    registers;     /* of a thread */
    int    max_threads;   /* of __launch_bounds__; 0: none */
    size_t stack_bytes;   /* of a thread: spilled registers, arrays that are indexed */
} cubin_entry;

enum { CUBIN_PARAMETER = 0x17, CUBIN_MAX_THREADS = 0x05, CUBIN_REGISTERS = 0x2f, CUBIN_STACK = 0x11, CUBIN_HAS_SIZE = 4, CUBIN_RESERVED_BYTES = 1024 };

static inline const Elf64_Shdr *cubin_section(const char *image, const char *prefix, const char *entry)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)image;
    const Elf64_Shdr *first = (const Elf64_Shdr *)(const void *)(image + head->e_shoff);
    char name[160];
    snprintf(name, sizeof name, "%s%s", prefix, entry);
    for (int i = 0; i < head->e_shnum; i++)
        if (!strcmp(image + first[head->e_shstrndx].sh_offset + first[i].sh_name, name)) return &first[i];
    return NULL;
}

/* Of the whole image, from its tables. */
static inline size_t cubin_bytes(const char *image)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)(const void *)image;
    const Elf64_Shdr *first = (const Elf64_Shdr *)(const void *)(image + head->e_shoff);
    size_t sections = head->e_shoff + (size_t)head->e_shnum * sizeof *first, segments = head->e_phoff + (size_t)head->e_phnum * sizeof(Elf64_Phdr);
    size_t end = sections > segments ? sections : segments;
    for (int i = 0; i < head->e_shnum; i++)
        if (first[i].sh_type != SHT_NOBITS && first[i].sh_offset + first[i].sh_size > end) end = first[i].sh_offset + first[i].sh_size;
    return end > sizeof *head ? end : sizeof *head;
}

static inline uint32_t cubin_word(const char *at) { uint32_t w; memcpy(&w, at, sizeof w); return w; }

/* Calls take for each attribute of a section: its number, its words. */
static inline void cubin_attributes(const char *image, const Elf64_Shdr *s, void (*take)(cubin_entry *e, uint32_t symbol, int which, const char *words), cubin_entry *e, uint32_t symbol)
{
    const char *at = image + s->sh_offset, *end = at + s->sh_size;
    while (at + 4 <= end) {
        uint32_t head = cubin_word(at);
        take(e, symbol, (int)(head >> 8 & 0xff), (head & 0xff) == CUBIN_HAS_SIZE ? at + 4 : NULL);
        at += 4 + ((head & 0xff) == CUBIN_HAS_SIZE ? head >> 16 : 0);
    }
}

static inline void cubin_take_own(cubin_entry *e, uint32_t symbol, int which, const char *words)
{
    (void)symbol;
    if (which == CUBIN_PARAMETER && words) e->n_params++, e->pointers = e->pointers && cubin_word(words + 8) >> 18 == 8;
    if (which == CUBIN_MAX_THREADS && words) e->max_threads = (int)cubin_word(words);
}
static inline void cubin_take_shared(cubin_entry *e, uint32_t symbol, int which, const char *words)
{
    if (which == CUBIN_REGISTERS && words && cubin_word(words) == symbol) e->registers = (int)cubin_word(words + 4);
    if (which == CUBIN_STACK && words && cubin_word(words) == symbol) e->stack_bytes = cubin_word(words + 4);
}

/* False when the image is no cubin or has no such entry. sm: what it was compiled for. */
static inline bool cubin_describe(const char *image, const char *entry, int sm, cubin_entry *out)
{
    enum { CUDA_MACHINE = 190 };
    *out = (cubin_entry){ .pointers = true };
    if (memcmp(image, ELFMAG, SELFMAG) || ((const Elf64_Ehdr *)(const void *)image)->e_machine != CUDA_MACHINE) return false;
    const Elf64_Shdr *text = cubin_section(image, ".text.", entry), *own = cubin_section(image, ".nv.info.", entry), *all = cubin_section(image, ".nv.info", "");
    const Elf64_Shdr *shared = cubin_section(image, ".nv.shared.", entry);
    if (!text || !own || !all) return false;
    cubin_attributes(image, own, cubin_take_own, out, 0);
    cubin_attributes(image, all, cubin_take_shared, out, text->sh_info & 0xffffff);
    if (shared) out->shared_bytes = shared->sh_size - (sm >= 90 && shared->sh_size >= CUBIN_RESERVED_BYTES ? CUBIN_RESERVED_BYTES : 0);
    return true;
}

/* Shared memory that a block may have, when asked for. */
static inline size_t cubin_most_shared(int sm)
{
    return (size_t)(sm == 80 || sm == 87 ? 163 : sm == 86 || sm == 89 || sm / 10 == 12 ? 99 : 227) << 10;
}

/* Why a launch of this entry would be refused; NULL: it would not. dynamic: bytes of shared memory. */
static inline const char *cubin_refusal(const cubin_entry *e, int sm, const unsigned block[3], size_t dynamic)
{
    enum { REGISTERS = 65536, WARP = 32, GRAIN = 8, MOST_THREADS = 1024 };
    size_t threads = (size_t)block[0] * block[1] * block[2], warps = (threads + WARP - 1) / WARP;
    if (!threads || threads > MOST_THREADS || block[2] > 64) return "its block has no such size";
    if (e->max_threads && threads > (size_t)e->max_threads) return "it has more threads than its launch bounds";
    if (warps * (((size_t)e->registers + GRAIN - 1) / GRAIN * GRAIN * WARP) > REGISTERS) return "a core has not so many registers";
    if (e->shared_bytes + dynamic > cubin_most_shared(sm)) return "a block has not so much shared memory";
    return NULL;
}

#endif
