/* SPDX-License-Identifier: ISC */
/*
 * ceiling: a FastCGI responder that reads the request and sends a constant
 * reply, and so shows what the web server, libfcgi and this machine allow.
 * It is run by the shipped configuration in place of mcp-fcgi; the one file
 * that configuration names (MCP_FCGI_CONF) holds the bytes of the reply, which
 * are those of the reply it is compared with.
 */
#include <fcgiapp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static char reply[65536];

static size_t
load(const char *path)
{
	FILE *f = path != NULL ? fopen(path, "r") : NULL;
	size_t n;

	if (f == NULL) {
		fprintf(stderr, "ceiling: the reply (MCP_FCGI_CONF) is not readable\n");
		exit(1);
	}
	n = fread(reply, 1, sizeof(reply), f);
	fclose(f);
	return n;
}

int
main(void)
{
	size_t n = load(getenv("MCP_FCGI_CONF"));
	char body[16384];
	FCGX_Request req;

	signal(SIGPIPE, SIG_IGN);
	if (FCGX_Init() != 0 || FCGX_InitRequest(&req, 0, 0) != 0)
		return 1;
	while (FCGX_Accept_r(&req) == 0) {
		while (FCGX_GetStr(body, sizeof(body), req.in) > 0)
			continue;
		FCGX_FPrintF(req.out, "Status: 200 OK\r\n"
				      "Content-Type: application/json\r\n"
				      "Content-Length: %d\r\n\r\n",
			(int)n);
		FCGX_PutStr(reply, (int)n, req.out);
		FCGX_Finish_r(&req);
	}
	return 0;
}
