#include "executable/serialize.h"

#include <algorithm>
#include <map>

#include "executable/fields.h"
#include "support/checked.h"
#include "support/content_hash.h"
#include "support/file.h"

namespace tcc::exec {
namespace {

constexpr std::string_view kBegin = "tcc-exec", kEnd = "tcc-end.", kKernel = "tcc-kern",
                           kPart = "tcc-part";
constexpr int64_t kConstantAlignment = 64;  // bytes
constexpr size_t kHeaderBytes = 16;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// A constant in the file.
struct Place {
  int64_t offset = 0;
  Hash128 key;
};

template <class A>
void key_fields(A& archive, Hash128& key) {
  archive.raw(&key.low, sizeof key.low);
  archive.raw(&key.high, sizeof key.high);
}

std::vector<uint8_t> header(std::string_view magic) {
  Writer writer;
  writer.raw(magic.data(), magic.size());
  const uint32_t numbers[] = {kFormatVersion, 0};
  writer.raw(numbers, sizeof numbers);
  return writer.take();
}

// Returns the version that the bytes behind the header are of.
uint32_t check_header(std::span<const uint8_t> bytes, std::string_view magic,
                      const std::string& name) {
  Reader reader(bytes.first(std::min(bytes.size(), kHeaderBytes)), name, 0);
  std::string found(magic.size(), ' ');
  uint32_t numbers[2] = {};
  reader.raw(found.data(), found.size());
  reader.raw(numbers, sizeof numbers);
  if (found != magic) reader.fail("does not begin with ", magic);
  if (numbers[0] < kOldestFormatVersion || numbers[0] > kFormatVersion || numbers[1] != 0)
    reader.fail("has version ", numbers[0], " of the format; this tcc reads ", format_versions(),
                ": compile the graph again");
  return numbers[0];
}

// Constants that lie in a file's bytes.
class FileConstants final : public ConstantStore {
 public:
  FileConstants(std::shared_ptr<const void> owner, std::string name)
      : owner_(std::move(owner)), name_(std::move(name)) {}

  void add(std::span<const std::byte> bytes, const Hash128& key) {
    entries_.push_back({bytes, key});
  }

  ConstantBytes load(size_t i) const override {
    const auto& [bytes, key] = entries_[i];
    if (content_hash(bytes) != key)
      fail_input(name_, ": constant ", i, " is damaged: its checksum differs");
    return {owner_, bytes, key};
  }
  std::optional<Hash128> key(size_t i) const override { return entries_[i].key; }

 private:
  struct Entry {
    std::span<const std::byte> bytes;
    Hash128 key;
  };
  std::shared_ptr<const void> owner_;
  std::string name_;
  std::vector<Entry> entries_;
};

// Passes on what is written and knows how much that was.
class CountingSink {
 public:
  explicit CountingSink(const Sink& sink) : sink_(sink) {}
  void write(std::span<const std::byte> bytes) {
    if (!bytes.empty()) sink_(bytes);
    written_ += std::ssize(bytes);
  }
  void align() {
    static constexpr std::array<std::byte, kConstantAlignment> kZeros{};
    const int64_t to = round_up(written_, kConstantAlignment);
    write(std::span(kZeros).first(static_cast<size_t>(to - written_)));
  }
  int64_t written() const { return written_; }

 private:
  const Sink& sink_;
  int64_t written_ = 0;
};

// `written` has the places of contents that are there already.
std::vector<Place> write_constants(const Executable& executable, CountingSink& to,
                                   std::map<Hash128, int64_t>& written) {
  std::vector<Place> places;
  for (size_t i = 0; i < executable.constants.size(); ++i) {
    const ConstantBytes constant = executable.store->load(i);
    TCC_CHECK(std::ssize(constant.bytes) == executable.constants[i].bytes,
              executable.constants[i].name);
    auto [entry, is_new] = written.try_emplace(constant.key, 0);
    if (is_new) {
      to.align();
      entry->second = to.written();
      to.write(constant.bytes);
    }
    places.push_back({entry->second, constant.key});
  }
  return places;
}

// Reads and checks an executable or a kernel. Every error begins with `name`.
template <class T>
void read_checked(Reader& reader, T& value, const std::string& name) {
  try {
    field(reader, value);
    check(value);
  } catch (const Error& error) {
    if (std::string_view(error.what()).starts_with(name + ": ")) throw;
    fail_input(name, ": ", error.what());
  }
}

// Reads the places of the constants in `bytes`, and checks them.
void read_constants(Reader& reader, Executable& executable,
                    const std::shared_ptr<const void>& owner, std::span<const std::byte> bytes,
                    const std::string& name) {
  const int64_t end = std::ssize(bytes);
  auto store = std::make_shared<FileConstants>(owner, name);
  for (const ConstantInfo& constant : executable.constants) {
    Place place;
    field(reader, place.offset, static_cast<int64_t>(kHeaderBytes), end);
    key_fields(reader, place.key);
    if (constant.bytes > end - place.offset)
      reader.fail("constant '", constant.name, "' of ", constant.bytes, " bytes at ", place.offset,
                  " is not within the file");
    store->add(
        bytes.subspan(static_cast<size_t>(place.offset), static_cast<size_t>(constant.bytes)),
        place.key);
  }
  if (!executable.constants.empty()) executable.store = std::move(store);
}

}  // namespace

std::string format_versions() {
  return kOldestFormatVersion == kFormatVersion ? str(kFormatVersion)
                                                : str(kOldestFormatVersion, " to ", kFormatVersion);
}

void write_executable(const Executable& executable, const Sink& sink) {
  check(executable);
  CountingSink to(sink);
  const std::vector<uint8_t> head = header(kBegin);
  to.write(std::as_bytes(std::span(head)));
  std::map<Hash128, int64_t> written;
  std::vector<Place> places = write_constants(executable, to, written);
  for (const Variant& variant : executable.variants)
    for (const Place& place : write_constants(variant.executable, to, written))
      places.push_back(place);

  Writer fields;
  field(fields, executable);
  for (Place& place : places) {
    field(fields, place.offset);
    key_fields(fields, place.key);
  }
  const std::vector<uint8_t> payload = fields.take();
  const int64_t begin = to.written();
  to.write(std::as_bytes(std::span(payload)));

  Writer footer;
  footer.number(begin);
  footer.number(std::ssize(payload));
  Hash128 checksum = content_hash(std::as_bytes(std::span(payload)));
  key_fields(footer, checksum);
  const std::vector<uint8_t> end = footer.take();
  to.write(std::as_bytes(std::span(end)));
  to.write(bytes_of(kEnd));
}

void save_executable(const Executable& executable, const std::filesystem::path& path) {
  AtomicFile file(path);
  write_executable(executable, [&](std::span<const std::byte> bytes) {
    file.write(bytes.data(), bytes.size());
  });
  file.commit();
}

Executable read_executable(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                           const std::string& name) {
  const std::span<const uint8_t> all(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  constexpr size_t kFooterBytes = 2 * sizeof(int64_t) + sizeof(Hash128) + kEnd.size();
  const uint32_t version = check_header(all, kBegin, name);
  const Reader head(all, name, version);
  if (all.size() < kHeaderBytes + kFooterBytes) head.fail("is cut off");

  const size_t end = all.size() - kFooterBytes;
  Reader footer(all.subspan(end), name, version);
  const int64_t begin = footer.number(INT64_MIN, INT64_MAX);
  const int64_t size = footer.number(INT64_MIN, INT64_MAX);
  Hash128 checksum;
  key_fields(footer, checksum);
  std::string last(kEnd.size(), ' ');
  footer.raw(last.data(), last.size());
  const auto stop = checked_add(begin, size);
  if (last != kEnd || begin < static_cast<int64_t>(kHeaderBytes) || size < 0 ||
      stop != static_cast<int64_t>(end))
    head.fail("is cut off or damaged: its end is missing");
  const auto payload = bytes.subspan(static_cast<size_t>(begin), static_cast<size_t>(size));
  if (content_hash(payload) != checksum) head.fail("is damaged: its checksum differs");

  Reader reader(all.subspan(static_cast<size_t>(begin), static_cast<size_t>(size)), name, version);
  Executable executable;
  read_checked(reader, executable, name);
  const auto constants = bytes.first(static_cast<size_t>(begin));
  read_constants(reader, executable, owner, constants, name);
  for (Variant& variant : executable.variants)
    read_constants(reader, variant.executable, owner, constants, name);
  reader.end();
  return executable;
}

Executable load_executable(const std::filesystem::path& path) {
  const auto file = std::make_shared<const MappedFile>(path);
  return read_executable(file, file->bytes(), path.string());
}

std::vector<uint8_t> write_part(const PackagePart& part) {
  PackagePart written = part;
  check(written.executable);
  size_t constants = 0;
  each_executable(written.executable, [&](Executable& executable) {
    constants += executable.constants.size();
    for (KernelBinary& kernel : executable.kernels) {
      kernel.source.clear();
      kernel.comment.clear();
    }
  });
  TCC_CHECK(written.constants.size() == constants, "constants of a part");
  Writer fields;
  field(fields, written.executable);
  for (const int64_t number : written.constants) fields.number(number);
  const std::vector<uint8_t> payload = fields.take();
  std::vector<uint8_t> bytes = header(kPart);
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

PackagePart read_part(std::span<const std::byte> bytes, const std::string& name) {
  const std::span<const uint8_t> all(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const uint32_t version = check_header(all, kPart, name);
  Reader reader(all.subspan(kHeaderBytes), name, version);
  PackagePart part;
  read_checked(reader, part.executable, name);
  each_executable(part.executable, [&](const Executable& executable) {
    for (size_t i = 0; i < executable.constants.size(); ++i)
      part.constants.push_back(reader.number(0, kMostItems));
  });
  reader.end();
  return part;
}

std::vector<uint8_t> write_sequence(const StandaloneSequence& sequence) {
  StandaloneSequence written = sequence;
  for (StandaloneSequence::Launch& launch : written.launches) launch.kernel.source.clear();
  Writer fields;
  field(fields, written);
  const std::vector<uint8_t> payload = fields.take();
  std::vector<uint8_t> bytes = header(kKernel);
  Writer checksum;
  Hash128 hash = content_hash(std::as_bytes(std::span(payload)));
  key_fields(checksum, hash);
  const std::vector<uint8_t> check = checksum.take();
  bytes.insert(bytes.end(), check.begin(), check.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  return bytes;
}

StandaloneSequence read_sequence(std::span<const uint8_t> bytes, const std::string& name) {
  const uint32_t version = check_header(bytes, kKernel, name);
  Reader head(bytes.subspan(kHeaderBytes), name, version);
  Hash128 checksum;
  key_fields(head, checksum);
  const auto payload = bytes.subspan(kHeaderBytes + sizeof checksum);
  if (content_hash(std::as_bytes(payload)) != checksum)
    head.fail("is damaged: its checksum differs");
  Reader reader(payload, name, version);
  StandaloneSequence sequence;
  read_checked(reader, sequence, name);
  reader.end();
  return sequence;
}

}  // namespace tcc::exec
