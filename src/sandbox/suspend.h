/* SPDX-License-Identifier: ISC */
/*
 * suspend: a program's state between two processes: the pages of linear
 * memory that differ from the image, and vm_state.  Only while no function of
 * the engine is being executed.
 */
#ifndef SANDBOX_SUSPEND_H
#define SANDBOX_SUSPEND_H

/* Give the state to SEND, as payloads of HEAP frames. */
void suspend_write(void (*send)(const uint8_t *p, size_t len));

/*
 * Take the next payload of LEN bytes at P into an engine that has just been
 * opened and limited.  Returns NULL and says whether it was the last, or a
 * literal that says what is wrong, and *WHAT that means; then nothing of it is
 * to be run.
 */
MUST_CHECK const char *suspend_read(const uint8_t *p, size_t len,
	bool *is_complete, enum frame_error *what);

#endif
