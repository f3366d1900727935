/* SPDX-License-Identifier: ISC */
/* post: JSON-RPC messages that a client posts, single or in a batch. */
#ifndef APP_POST_H
#define APP_POST_H

struct turn;

/* From media types to the answer; -1 when that is a fault. */
int post_handle(struct turn *t);

#endif
