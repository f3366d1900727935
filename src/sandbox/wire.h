/* SPDX-License-Identifier: ISC */
/*
 * wire: frames on FRAME_FD.  Numbers them, buffers what is sent; ends the
 * process when the parent is gone.
 */
#ifndef SANDBOX_WIRE_H
#define SANDBOX_WIRE_H

/* Append a frame: header, fixed part, text. */
void wire_send(enum frame_kind kind, const void *fixed, size_t fixed_len,
	const void *text, size_t text_len);
void wire_flush(void);

/* Wait for the next header. */
MUST_CHECK enum frame_fault wire_header(struct frame_header *h);
void wire_read(void *p, size_t len);

#endif
