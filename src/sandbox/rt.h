/* SPDX-License-Identifier: ISC */
/*
 * rt: what stands around the generated engine: its linear memory, its types,
 * its traps (the functions themselves are declared by wabt's wasm-rt.h).
 */
#ifndef SANDBOX_RT_H
#define SANDBOX_RT_H

/* 4 GiB of addresses, as much again of offsets, and the width of an access */
#define RT_RESERVE ((8ULL << 30) + 65536)

/* ON_TRAP must not return. */
void rt_init(void (*on_trap)(const char *message));

/* Memory never exceeds PAGES of 64 KiB; the caller makes them accessible. */
void rt_set_limit(uint32_t pages);

uint32_t rt_limit(void);

/* Was the engine ever refused memory? */
bool rt_has_refused(void);

#endif
