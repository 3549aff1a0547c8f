/* codec_records.h: the table of each message about tickets that is no batch. Pure. */
#ifndef SEGQ_CODEC_RECORDS_H
#define SEGQ_CODEC_RECORDS_H

#include "common/wire/fields.h"
#include "common/wire/msg.h"

#define X(name, number, member, ways) const struct fields *codec_##member##_fields(void);
MSG_TICKET_RECORDS(X)
#undef X

#endif
