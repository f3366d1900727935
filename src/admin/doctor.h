/* SPDX-License-Identifier: ISC */
/*
 * doctor: whether this installation works, one line a check, with what to do
 * about it.  Changes nothing but the stored key set, as any request may.
 */
#ifndef ADMIN_DOCTOR_H
#define ADMIN_DOCTOR_H

#include "admin/admin.h"

admin_fn doctor_run;

#endif
