/* SPDX-License-Identifier: ISC */
/* discover: the two documents by which clients find their way to a token. */
#ifndef APP_DISCOVER_H
#define APP_DISCOVER_H

struct turn;

/* Protected resource metadata (RFC 9728), from the configuration alone. */
void discover_resource(struct turn *t);
/* The issuer's RFC 8414 document; 502 when it cannot be had. */
int discover_issuer(struct turn *t);

#endif
