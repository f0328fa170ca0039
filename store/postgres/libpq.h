#pragma once

// PostgreSQL's client library, opened at run time: jobs link the store, and need not load libpq
// with Kerberos and LDAP behind it to use one in a file. Thread-safe.

#include <libpq-fe.h>

#include "core/base/result.h"

// The functions of libpq that this folder calls.
#define HOCKET_LIBPQ_FUNCTIONS(each)                                                               \
  each(PQconnectdbParams) each(PQfinish) each(PQstatus) each(PQerrorMessage) each(PQsocket)        \
      each(PQsetnonblocking) each(PQflush) each(PQconsumeInput) each(PQisBusy) each(PQgetResult)   \
          each(PQsendQuery) each(PQsendPrepare) each(PQsendQueryPrepared) each(PQsetSingleRowMode) \
              each(PQenterPipelineMode) each(PQexitPipelineMode) each(PQpipelineSync)              \
                  each(PQnotifies) each(PQfreemem) each(PQresultStatus) each(PQresultErrorField)   \
                      each(PQntuples) each(PQgetisnull) each(PQgetvalue) each(PQgetlength)         \
                          each(PQcmdTuples) each(PQclear) each(PQtransactionStatus)                \
                              each(PQconninfoParse) each(PQconninfoFree)                           \
                                  each(PQsetNoticeProcessor)

namespace hocket::postgres {

struct Libpq {
#define HOCKET_LIBPQ_MEMBER(name) decltype(&::name) name = nullptr;
  HOCKET_LIBPQ_FUNCTIONS(HOCKET_LIBPQ_MEMBER)
#undef HOCKET_LIBPQ_MEMBER
};

/// Opens `library`, of PostgreSQL 14 or newer. It stays open. Returns unavailable if it is not
/// there.
Result<Libpq> open_libpq(const char* library = "libpq.so.5");

}  // namespace hocket::postgres
