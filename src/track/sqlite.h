// A thin C++ face on SQLite: statements that bind and read, transactions that roll back, errors with path and advice.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace lockstep::track {

/// An open connection. The busy timeout is kBusyMs.
class Database {
 public:
  static constexpr int kBusyMs = 10000;

  enum class Access : std::uint8_t { create, write, immutable };
  /// Opens a file; `immutable` reads media that nobody can write.
  Database(std::string path, Access access);
  Database(Database&&) noexcept = default;
  Database& operator=(Database&&) noexcept = default;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] sqlite3* handle() const { return handle_.get(); }

  /// Runs statements that give no rows.
  void exec(const char* sql) const;
  /// The one integer that a query gives; `missing` when it gives no row.
  [[nodiscard]] std::int64_t integer(const char* sql, std::int64_t missing = 0) const;
  /// Switches to write-ahead logging. SQLite gives up at once when two processes do so together; this waits.
  void use_wal() const;
  [[nodiscard]] std::int64_t last_rowid() const;
  /// Rows changed by the last statement.
  [[nodiscard]] std::int64_t changes() const;

 private:
  struct Close {
    void operator()(sqlite3* handle) const;
  };
  std::string path_;
  std::unique_ptr<sqlite3, Close> handle_;
};

/// Throws the Error that an SQLite result code stands for; `what` continues "cannot": "write to".
[[noreturn]] void raise(const Database& db, int code, std::string_view what);
[[noreturn]] void raise(const std::string& path, int code, std::string_view detail, std::string_view what);

/// A prepared statement. Parameters and columns are taken in order, from the left; NaN is stored as NULL.
class Statement {
 public:
  Statement(const Database& db, std::string_view sql);

  template <class... V>
  Statement& bind(const V&... values) {
    rewind();
    int at = 0;
    (put(++at, values), ...);
    return *this;
  }
  /// bind(), then run to the end without rows.
  template <class... V>
  void run(const V&... values) {
    bind(values...);
    while (row()) {
    }
  }
  /// Advances; false after the last row.
  bool row();

  // The next column of the current row.
  std::int64_t integer();
  double real();  // NULL reads as NaN
  std::string text();
  bool null_next() const;  // whether the next column is NULL
  void skip() { ++column_; }

 private:
  void rewind();
  void bound(int code) const;
  void put(int at, std::int64_t value);
  void put(int at, int value) { put(at, static_cast<std::int64_t>(value)); }
  void put(int at, bool value) { put(at, static_cast<std::int64_t>(value)); }
  void put(int at, double value);
  void put(int at, std::string_view value);
  void put(int at, const std::string& value) { put(at, std::string_view(value)); }
  void put(int at, const char* value) { put(at, std::string_view(value)); }
  void put_null(int at);
  template <class T>
  void put(int at, const std::optional<T>& value) {
    value ? put(at, *value) : put_null(at);
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const;
  };
  const Database* db_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int column_ = 0;
};

/// BEGIN … COMMIT; rolled back unless commit() was reached.
class Transaction {
 public:
  /// Immediate, since a deferred one that reads before it writes fails at once when another process writes.
  explicit Transaction(const Database& db, bool exclusive = false);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  const Database& db_;
  bool open_ = true;
};

}  // namespace lockstep::track
