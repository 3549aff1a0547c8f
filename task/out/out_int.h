/* out_int.h: the data of requests on their way. Only files of this room include it.
 *
 *   out.c      the loop's side of libcurl: sockets, timers, what has ended; life
 *   send.c     one request: its options, its answer
 *   address.c  where a target is: names asked, addresses checked
 * Each calls only those below it. */
#ifndef SEGQ_OUT_INT_H
#define SEGQ_OUT_INT_H

#include <curl/curl.h>
#include <sodium.h>

#include "common/base/list.h"
#include "common/net/hosts.h"
#include "task/out/out.h"
#include "task/out/url.h"

struct out {
    struct ev *ev;   /* ref */
    CURLM *multi;    /* owned */
    struct ev_timer *timer;
    struct hosts hosts;
    struct list targets; /* of struct out_target */
    struct list ending;  /* of struct out_call: without a word of libcurl */
    bool posted;         /* `ending` is looked at in this turn */
};

struct out_target {
    struct list_node in;
    struct out *out; /* ref */
    struct out_rules rules; /* texts owned */
    struct url url, proxy; /* proxy.host "": none */
    struct host_question *question; /* NULL: none is open */
    struct host_answer known; /* addresses; n 0: none yet */
    msec_t asked_ms; /* when they were told */
    unsigned at;     /* the one that is used, of those that may be */
    struct list waiting, calls; /* of struct out_call: for an address; with libcurl */
};

enum out_place {
    PLACE_NAME,   /* out_target.waiting */
    PLACE_CURL,   /* out_target.calls */
    PLACE_ENDING, /* out.ending */
};

struct out_call {
    struct list_node in; /* of its place */
    uint8_t place;       /* enum out_place */
    struct out_target *target; /* ref */
    out_fn fn;
    bool (*may)(void *arg);
    void *arg;
    CURL *easy; /* owned */
    struct curl_slist *fields, *connect_to; /* owned */
    struct buf body, got; /* got: the first bytes of the answer */
    uint32_t keep, deadline_ms;
    msec_t began;
    uint32_t head_bytes;
    unsigned sends;      /* how often libcurl was about to send it */
    bool refused, unwanted, no_room, too_long, body_begun; /* no_room: no descriptor is left */
    crypto_hash_sha256_state hash; /* once there is more than is kept */
    char error[CURL_ERROR_SIZE];
    struct call_answer answer;
};

#endif
