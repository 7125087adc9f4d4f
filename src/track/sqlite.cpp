// A thin C++ face on SQLite.
#include "track/sqlite.h"

#include <sqlite3.h>

#include <cerrno>
#include <cmath>

#include "lockstep/base/clock.h"
#include "lockstep/base/error.h"
#include "lockstep/base/text.h"
#include "lockstep/track/store.h"

namespace lockstep::track {
namespace {

// The path as an SQLite URI: what would end or escape it is written in hexadecimal.
std::string immutable_uri(const std::string& path) {
  std::string uri = "file:";
  for (const char c : path) {
    if (c == '%' || c == '?' || c == '#') {
      uri += fmt::format("%{:02x}", static_cast<unsigned>(c));
    } else {
      uri += c;
    }
  }
  return uri + "?immutable=1";
}

}  // namespace

void raise(const std::string& path, int code, std::string_view detail, std::string_view what) {
  const std::string head = fmt::format("cannot {} the run store {}: ", what, quote(path));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_PROTOCOL:   // too many processes at once for the write-ahead log
      failf(Category::resource,
            "{}it is locked: another process has been writing to it for more than {} s. Find it (`fuser {}`) or try "
            "again",
            head, Database::kBusyMs / 1000, path);
    case SQLITE_FULL: {
      Error error(Category::resource, head + "no space is left on the file system. Free some and try again");
      error.no_space = true;
      throw error;
    }
    case SQLITE_IOERR:
      failf(Category::resource, "{}{}. Check the disk; the last commit is intact", head, detail);
    case SQLITE_NOMEM:
      failf(Category::resource, "{}out of memory", head);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      failf(Category::data,
            "{}{}. Move it away and let `lockstep runs reindex` rebuild it from the run folders (curves are lost, "
            "training is not)",
            head, detail);
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      failf(Category::data,
            "{}this user may not write to it or to its folder. Change the permissions or name another folder with "
            "--runs-dir",
            head);
    case SQLITE_CANTOPEN:
      failf(Category::data, "{}{}. Check that its folder exists and may be written", head, detail);
    // The statements are fixed and the schema was looked at, so the tables themselves must be others than it says.
    case SQLITE_ERROR:
    case SQLITE_SCHEMA:
    case SQLITE_MISMATCH:
    case SQLITE_CONSTRAINT:
    case SQLITE_FORMAT:
    case SQLITE_TOOBIG:
    case SQLITE_RANGE:
      failf(Category::data,
            "{}{}: its tables are not as lockstep makes them, so it is damaged. Move it away and let `lockstep runs reindex` "
            "rebuild it from the run folders (curves are lost, training is not)",
            head, detail);
    default:
      failf(Category::internal, "{}{} (SQLite code {})", head, detail, code);
  }
}

void raise(const Database& db, int code, std::string_view what) {
  const int system = sqlite3_system_errno(db.handle());
  if ((code & 0xff) == SQLITE_CANTOPEN && (system == EMFILE || system == ENFILE))
    failf(Category::resource, "cannot {} the run store {}: too many files are open; raise `ulimit -n`", what, quote(db.path()));
  raise(db.path(), code, sqlite3_errmsg(db.handle()), what);
}

void Database::Close::operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }

Database::Database(std::string path, Access access) : path_(std::move(path)) {
  int flags = SQLITE_OPEN_READWRITE;
  std::string name = path_;
  // A relative path must not be taken for a URI, nor ":memory:" for a database in memory.
  if (name.empty() || name.front() != '/') name = "./" + name;
  if (access == Access::create) flags |= SQLITE_OPEN_CREATE;
  if (access == Access::immutable) {
    flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    name = immutable_uri(name);
  }
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, nullptr);
  handle_.reset(handle);
  if (handle == nullptr) raise(path_, SQLITE_NOMEM, "", "open");
  if (code != SQLITE_OK) raise(*this, code, "open");
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kBusyMs);
}

void Database::exec(const char* sql) const {
  const int code = sqlite3_exec(handle(), sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(*this, code, "use");
}

std::int64_t Database::integer(const char* sql, std::int64_t missing) const {
  Statement query(*this, sql);
  return query.row() ? query.integer() : missing;
}

void Database::use_wal() const {
  const std::int64_t deadline = monotonic_ns() + std::int64_t{kBusyMs} * 1'000'000;
  while (true) {
    const int code = sqlite3_exec(handle(), "PRAGMA journal_mode=WAL", nullptr, nullptr, nullptr);
    if (code == SQLITE_OK) return;
    if ((code & 0xff) != SQLITE_BUSY || monotonic_ns() > deadline) raise(*this, code, "open");
    sqlite3_sleep(10);
  }
}

std::int64_t Database::last_rowid() const { return sqlite3_last_insert_rowid(handle()); }
std::int64_t Database::changes() const { return sqlite3_changes(handle()); }

void Statement::Finalize::operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }

Statement::Statement(const Database& db, std::string_view sql) : db_(&db) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(db.handle(), sql.data(), static_cast<int>(sql.size()), &statement, nullptr);
  statement_.reset(statement);
  if (code != SQLITE_OK) raise(db, code, "use");
}

void Statement::rewind() {
  sqlite3_reset(statement_.get());
  column_ = 0;
}

bool Statement::row() {
  column_ = 0;
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  raise(*db_, code, sqlite3_stmt_readonly(statement_.get()) != 0 ? "read" : "write to");
}

std::int64_t Statement::integer() { return sqlite3_column_int64(statement_.get(), column_++); }

double Statement::real() {
  if (null_next()) {
    ++column_;
    return std::numeric_limits<double>::quiet_NaN();
  }
  return sqlite3_column_double(statement_.get(), column_++);
}

std::string Statement::text() {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column_));
  const int size = sqlite3_column_bytes(statement_.get(), column_);
  if (bytes == nullptr && !null_next()) raise(*db_, SQLITE_NOMEM, "read");
  ++column_;
  return bytes == nullptr ? std::string() : std::string(bytes, static_cast<std::size_t>(size));
}

bool Statement::null_next() const { return sqlite3_column_type(statement_.get(), column_) == SQLITE_NULL; }

// A value that was not bound would be stored as NULL.
void Statement::bound(int code) const {
  if (code != SQLITE_OK) raise(*db_, code, "use");
}

void Statement::put(int at, std::int64_t value) { bound(sqlite3_bind_int64(statement_.get(), at, value)); }
void Statement::put(int at, double value) { bound(sqlite3_bind_double(statement_.get(), at, value)); }
void Statement::put(int at, std::string_view value) {
  bound(sqlite3_bind_text64(statement_.get(), at, value.data() == nullptr ? "" : value.data(), value.size(),
                            SQLITE_TRANSIENT, SQLITE_UTF8));
}
void Statement::put_null(int at) { bound(sqlite3_bind_null(statement_.get(), at)); }

Transaction::Transaction(const Database& db, bool exclusive) : db_(db) {
  const int code =
      sqlite3_exec(db.handle(), exclusive ? "BEGIN EXCLUSIVE" : "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) {
    open_ = false;
    raise(db, code, "write to");
  }
}

Transaction::~Transaction() {
  // Some failures (full disk) have already rolled back; a second time is a harmless error.
  if (open_) sqlite3_exec(db_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  const int code = sqlite3_exec(db_.handle(), "COMMIT", nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) raise(db_, code, "write to");
  open_ = false;
}

}  // namespace lockstep::track

namespace lockstep {

std::string sqlite_version() { return sqlite3_libversion(); }

}  // namespace lockstep
