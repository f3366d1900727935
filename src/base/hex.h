/* SPDX-License-Identifier: ISC */
/* hex: hexadecimal and base64url, strict in both directions. */
#ifndef BASE_HEX_H
#define BASE_HEX_H

/* 2 * LEN lower-case digits and a NUL into OUT. */
void hex_encode(char *out, const void *p, size_t len);
/* The value of a digit of either case, -1 when C is none. */
int hex_digit(char c);
/* Whether S is exactly LEN digits of 0-9 and a-f. */
bool hex_is_lower(const char *s, size_t len);

/*
 * base64url without padding (RFC 4648 5).  Decoding refuses padding, other
 * characters, impossible lengths and non-zero unused bits; returns the number
 * of bytes written to OUT (room: LEN * 3 / 4) or -1.
 */
ssize_t hex_b64url_decode(void *out, const char *s, size_t len);
/* Room in OUT: (LEN * 4 + 2) / 3 + 1; NUL-terminated. */
void hex_b64url_encode(char *out, const void *p, size_t len);

#endif
