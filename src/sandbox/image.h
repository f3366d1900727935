/* SPDX-License-Identifier: ISC */
/*
 * image: the heap of an engine that has loaded the prelude and the TypeScript
 * library, made at build time.  A run maps it privately over the linear
 * memory, so that it reads only the pages it looks at and copies only those it
 * writes; what a run has to keep is what differs from the image of its id.
 */
#ifndef SANDBOX_IMAGE_H
#define SANDBOX_IMAGE_H

struct engine_hooks;

/* Files of scripts. */
struct image_sources {
	const char *prelude;
	const char *typescript;
	const char *checker; /* its value is what engine_check calls */
};

/* What is mapped, unchanged; 64 KiB pages. */
extern const uint8_t *image_pristine;
extern uint32_t image_pages;

/*
 * Build the image FILE.  A build step: returns 0, or -1 after saying why on
 * stderr.
 */
MUST_CHECK int image_make(const char *file, const struct image_sources *from,
	const struct engine_hooks *hooks);

/* Start the engine from FILE.  Returns NULL, or a literal: what is wrong. */
MUST_CHECK const char *image_open(
	const char *file, const struct engine_hooks *hooks);

#endif
