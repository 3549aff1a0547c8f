/* send.h: one request. Shell. For the files of this room. */
#ifndef SEGQ_OUT_SEND_H
#define SEGQ_OUT_SEND_H

#include "task/out/out_int.h"

/* libcurl is done with it: its caller is told. */
void send_ended(struct out_call *c, CURLcode rc);
/* Those that have ended without libcurl: told. arg: struct out. */
void send_run_ending(void *arg);
/* The answer to a target's name has come: those that wait for it go, or end. */
void send_waiting(struct out_target *t);

#endif
