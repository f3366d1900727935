/* SPDX-License-Identifier: ISC */
/*
 * pipeline: the order of the steps that answer one request (BEHAVIOUR 9):
 * path, method, size, host and origin, bearer, media types, parse, ENTER,
 * protocol, handler.  Every check that sets a status comes before the first
 * byte of the response.
 */
#ifndef APP_PIPELINE_H
#define APP_PIPELINE_H

struct app;

/* Answer the request that APP's fcgi holds. */
void pipeline_run(struct app *app);

#endif
