#include "executable/package.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "support/checked.h"
#include "support/content_hash.h"
#include "support/error.h"
#include "support/file.h"
#include "support/utf8.h"
#include "support/version.h"

namespace tcc::exec {
namespace {

constexpr std::string_view kFirstLine = "tcc_package: ", kLastLine = "end: ";
constexpr int64_t kSectionAlignment = 64;           // bytes
constexpr size_t kMostManifest = size_t{64} << 20;  // bytes
constexpr size_t kMostManifestLine = 4000;          // characters
constexpr size_t kMostSections = size_t{1} << 20;   // of a kind
constexpr int64_t kMostSectionBytes = int64_t{1} << 50;
constexpr size_t kMostName = 200;  // characters of a name that is written

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Names are a user's: a line of the manifest holds them as one printable word of it.
std::string printable(std::string_view name) {
  std::string text;
  for (const char c : one_line(name.substr(0, kMostName))) text += c == '|' ? '?' : c;
  return text.empty() ? "?" : text;
}

}  // namespace

std::string one_line(std::string_view text) {
  std::string line;
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    const bool is_control =
        length == 1 ? first < 0x20 || first == 0x7f
                    : length == 2 && first == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0;
    if (length == 0 || is_control)
      line += '?';
    else
      line += text.substr(0, length);
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return line;
}

// The manifest's facts, and where it is in memory.
struct Package::Contents {
  struct Weight {
    std::string name;  // for people
    int64_t bytes = 0;
    Hash128 key;
    int file = -1;       // its number among the files; -1: the package itself
    int64_t offset = 0;  // in that file
  };
  // A file beside the package, mapped at the first use of a weight in it.
  struct File {
    std::string name;
    int64_t bytes = 0;
    mutable std::mutex opening;
    mutable std::shared_ptr<const MappedFile> map;
  };

  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  std::string file;
  std::filesystem::path folder;
  std::string name, manifest, trusted_comment;
  std::vector<Part> parts;
  std::vector<int64_t> part_offsets;
  std::vector<Weight> weights;
  std::vector<std::unique_ptr<File>> files;

  template <class... Reasons>
  [[noreturn]] void fail(const Reasons&... reasons) const {
    fail_input(file, ": ", one_line(str(reasons...)));
  }

  std::span<const std::byte> range(int64_t offset, int64_t size) const {
    return bytes.subspan(static_cast<size_t>(offset), static_cast<size_t>(size));
  }
  std::shared_ptr<const MappedFile> open(const File& beside) const;
  ConstantBytes load(const Weight& weight) const;
};

std::shared_ptr<const MappedFile> Package::Contents::open(const File& beside) const {
  // Not std::call_once: an error thrown in there waits forever on Windows.
  const std::scoped_lock lock(beside.opening);
  if (beside.map) return beside.map;
  if (folder.empty())
    fail("has weights in the file '", beside.name, "', and no folder to look for it");
  const std::filesystem::path path = resolve_inside(folder, beside.name);
  auto map = std::make_shared<const MappedFile>(path);
  if (static_cast<int64_t>(map->size()) != beside.bytes)
    fail("has weights in ", path.string(), ", which has ", map->size(), " bytes and had ",
         beside.bytes);
  beside.map = std::move(map);
  return beside.map;
}

ConstantBytes Package::Contents::load(const Weight& weight) const {
  ConstantBytes loaded{owner, {}, weight.key};
  if (weight.file < 0) {
    loaded.bytes = range(weight.offset, weight.bytes);
  } else {
    const auto map = open(*files[static_cast<size_t>(weight.file)]);
    loaded.bytes =
        map->bytes().subspan(static_cast<size_t>(weight.offset), static_cast<size_t>(weight.bytes));
    loaded.owner = map;
  }
  if (content_hash(loaded.bytes) != weight.key)
    fail("weight '", weight.name, "' is damaged",
         weight.file < 0 ? "" : ", or its file is another one", ": its checksum differs");
  return loaded;
}

namespace {

// The constants of one part.
class PackageConstants final : public ConstantStore {
 public:
  PackageConstants(std::shared_ptr<const Package::Contents> contents, std::vector<int64_t> numbers)
      : contents_(std::move(contents)), numbers_(std::move(numbers)) {}
  ConstantBytes load(size_t i) const override { return contents_->load(weight(i)); }
  std::optional<Hash128> key(size_t i) const override { return weight(i).key; }

 private:
  const Package::Contents::Weight& weight(size_t i) const {
    return contents_->weights[static_cast<size_t>(numbers_[i])];
  }
  std::shared_ptr<const Package::Contents> contents_;
  std::vector<int64_t> numbers_;
};

// Reads the lines of a manifest.
class ManifestReader {
 public:
  explicit ManifestReader(Package::Contents& contents)
      : contents_(contents), text_(text_of(contents.bytes)) {}

  // Returns the size of the manifest in the file.
  size_t read() {
    read_version();
    for (;;) {
      const size_t begin = at_;
      const std::string_view line = next_line();
      if (line.starts_with(kLastLine)) {
        contents_.manifest = text_.substr(0, begin);
        if (hash(line.substr(kLastLine.size())) != content_hash(contents_.bytes.subspan(0, begin)))
          contents_.fail("is damaged: the manifest's checksum differs");
        break;
      }
      if (!line.starts_with('#')) read_entry(line);
    }
    if (contents_.parts.empty()) contents_.fail("has no parts");
    return at_;
  }

 private:
  template <class... Reasons>
  [[noreturn]] void fail(const Reasons&... reasons) const {
    contents_.fail("line ", line_, ": ", reasons...);
  }

  void read_version() {
    if (!text_.starts_with(kFirstLine)) contents_.fail("is no package of tcc");
    const std::string_view version = next_line().substr(kFirstLine.size());
    if (version != std::to_string(kPackageVersion))
      contents_.fail("is a package of version ", printable(version), "; this tcc reads ",
                     kPackageVersion, ": a newer one made it");
  }

  std::string_view next_line() {
    const size_t begin = at_;
    ++line_;
    for (;; ++at_) {
      if (at_ == text_.size() || at_ == kMostManifest) contents_.fail("is cut off in its manifest");
      if (at_ - begin > kMostManifestLine)
        fail("is longer than ", kMostManifestLine, " characters");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '\n') break;
      if (c < 0x20 || c == 0x7f) fail("has a control character");
    }
    return text_.substr(begin, at_++ - begin);
  }

  void read_entry(std::string_view line) {
    const size_t colon = std::min(line.find(": "), line.size());
    const std::string_view key = line.substr(0, colon);
    values_.clear();
    for (std::string_view rest = line.substr(std::min(colon + 2, line.size()));;) {
      const size_t bar = rest.find(" | ");
      values_.push_back(rest.substr(0, bar));
      if (bar == rest.npos) break;
      rest.remove_prefix(bar + 3);
    }
    if (key == "name") {
      expect(1);
      if (!contents_.name.empty()) fail("a second name");
      contents_.name = values_[0];
    } else if (key == "made_by") {
      expect(1);
    } else if (key == "part") {
      read_part();
    } else if (key == "file") {
      read_file();
    } else if (key == "weight") {
      read_weight();
    } else {
      fail("has the unknown key '", printable(key), "': a newer tcc made the package");
    }
  }

  void read_part() {
    expect(3);
    if (contents_.parts.size() == kMostSections) fail("too many parts");
    if (std::ranges::find(contents_.parts, values_[0], &Package::Part::target) !=
        contents_.parts.end())
      fail("has two parts for ", printable(values_[0]));
    contents_.parts.push_back({std::string(values_[0]), number(values_[1]), hash(values_[2])});
  }

  void read_file() {
    expect(2);
    if (contents_.files.size() == kMostSections) fail("too many files");
    auto file = std::make_unique<Package::Contents::File>();
    file->name = values_[0];
    file->bytes = number(values_[1]);
    contents_.files.push_back(std::move(file));
  }

  void read_weight() {
    if (values_.size() != 5) expect(3);
    if (contents_.weights.size() == kMostSections) fail("too many weights");
    Package::Contents::Weight& weight = contents_.weights.emplace_back();
    weight.name = values_[0];
    weight.bytes = number(values_[1]);
    weight.key = hash(values_[2]);
    if (values_.size() == 3) return;
    const auto file = static_cast<size_t>(number(values_[3]));
    if (file >= contents_.files.size()) fail("is of file ", file, ", which is not above");
    weight.file = static_cast<int>(file);
    weight.offset = number(values_[4]);
    const int64_t whole = contents_.files[file]->bytes;
    if (weight.offset > whole || weight.bytes > whole - weight.offset)
      fail("bytes ", weight.offset, " to ", weight.offset, " + ", weight.bytes, " of ", whole);
  }

  void expect(size_t count) const {
    if (values_.size() != count) fail("has ", values_.size(), " values instead of ", count);
  }

  // Numbers are written in one way.
  int64_t number(std::string_view text) const {
    int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || stop != text.data() + text.size() || value < 0 ||
        value > kMostSectionBytes || std::to_string(value) != text)
      fail("'", printable(text), "' is no number of bytes");
    return value;
  }

  Hash128 hash(std::string_view text) const {
    constexpr size_t kDigits = 32;
    std::array<uint8_t, sizeof(Hash128)> bytes{};
    bool is_hash = text.size() == kDigits;
    for (size_t i = 0; is_hash && i < kDigits; ++i) {
      const size_t digit = std::string_view("0123456789abcdef").find(text[i]);
      is_hash = digit != std::string_view::npos;
      bytes[i / 2] = static_cast<uint8_t>(bytes[i / 2] << 4 | digit);
    }
    if (!is_hash) fail("'", printable(text), "' is no checksum");
    Hash128 value;
    for (size_t i = 0; i < bytes.size(); ++i)
      (i < 8 ? value.low : value.high) |= uint64_t{bytes[i]} << 8 * (i % 8);
    return value;
  }

  Package::Contents& contents_;
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 0;
  std::vector<std::string_view> values_;
};

}  // namespace

Package::Package(std::shared_ptr<const void> owner, std::span<const std::byte> bytes,
                 const std::string& file, const std::filesystem::path& folder,
                 const std::optional<SignedBy>& signed_by) {
  auto contents = std::make_shared<Contents>();
  contents->owner = std::move(owner);
  contents->bytes = bytes;
  contents->file = file;
  contents->folder = folder;
  if (signed_by) {
    if (!signed_by->signature) contents->fail("no signature is given for it");
    contents->trusted_comment =
        verify_signature(bytes, file, *signed_by->signature, signed_by->key);
  }
  auto end = static_cast<int64_t>(ManifestReader(*contents).read());
  // Sections follow each other; those before lie within the file, so that nothing overflows.
  const auto place = [&](int64_t size) {
    const int64_t begin = round_up(end, kSectionAlignment);
    if (size > std::ssize(bytes) - begin) contents->fail("is cut off: its manifest lists more");
    end = begin + size;
    return begin;
  };
  for (const Part& part : contents->parts) contents->part_offsets.push_back(place(part.bytes));
  for (Contents::Weight& weight : contents->weights)
    if (weight.file < 0) weight.offset = place(weight.bytes);
  if (end != std::ssize(bytes))
    contents->fail("has ", std::ssize(bytes) - end, " bytes that its manifest does not list");
  // The maps stay, so that the bytes that were verified are those that are used.
  for (const auto& beside : contents->files) {
    if (!signed_by) break;
    const auto map = contents->open(*beside);
    const std::filesystem::path path = folder / beside->name;
    verify_signature(map->bytes(), path.string(), read_signature(path), signed_by->key);
  }
  contents_ = std::move(contents);
}

Package Package::load(const std::filesystem::path& path, const std::optional<SignedBy>& signed_by) {
  const auto map = std::make_shared<const MappedFile>(path);
  const std::filesystem::path folder = path.parent_path();
  std::optional<SignedBy> with_text = signed_by;
  if (with_text && !with_text->signature) with_text->signature = read_signature(path);
  return Package(map, map->bytes(), path.string(), folder.empty() ? "." : folder, with_text);
}

const std::string& Package::file() const { return contents_->file; }
const std::string& Package::name() const { return contents_->name; }
const std::string& Package::manifest() const { return contents_->manifest; }
const std::string& Package::trusted_comment() const { return contents_->trusted_comment; }
std::span<const Package::Part> Package::parts() const { return contents_->parts; }

Package::Weights Package::weights(bool in_files) const {
  Weights weights;
  for (const Contents::Weight& weight : contents_->weights)
    if ((weight.file >= 0) == in_files) {
      ++weights.count;
      weights.bytes += weight.bytes;
    }
  return weights;
}

int64_t Package::weight_bytes() const { return weights(true).bytes + weights(false).bytes; }

Executable Package::executable(size_t i) const {
  const Part& part = contents_->parts.at(i);
  const auto bytes = contents_->range(contents_->part_offsets[i], part.bytes);
  const std::string label = str(contents_->file, ": part ", printable(part.target));
  if (content_hash(bytes) != part.key) fail_input(label, ": is damaged: its checksum differs");
  PackagePart read;
  try {
    read = read_part(bytes, label);
  } catch (const Error& error) { throw Error(error.kind(), one_line(error.what())); }
  if (read.executable.target.id() != part.target)
    fail_input(label, ": is for another target than the manifest says");
  auto next = read.constants.begin();
  each_executable(read.executable, [&](Executable& executable) {
    std::vector<int64_t> numbers;
    for (const ConstantInfo& constant : executable.constants) {
      numbers.push_back(*next++);
      if (numbers.back() >= std::ssize(contents_->weights) ||
          contents_->weights[static_cast<size_t>(numbers.back())].bytes != constant.bytes)
        fail_input(label, ": constant ", numbers.size() - 1, " is no weight of its size");
    }
    if (!numbers.empty())
      executable.store = std::make_shared<const PackageConstants>(contents_, std::move(numbers));
  });
  return std::move(read.executable);
}

void Package::verify() const {
  for (size_t i = 0; i < contents_->parts.size(); ++i) executable(i);
  for (const Contents::Weight& weight : contents_->weights) contents_->load(weight);
  // The bytes of the file that are in nothing.
  std::vector<std::pair<int64_t, int64_t>> sections;
  for (size_t i = 0; i < contents_->parts.size(); ++i)
    sections.emplace_back(contents_->part_offsets[i], contents_->parts[i].bytes);
  for (const Contents::Weight& weight : contents_->weights)
    if (weight.file < 0) sections.emplace_back(weight.offset, weight.bytes);
  constexpr size_t kLastLineBytes = kLastLine.size() + 32 + 1;
  auto end = static_cast<int64_t>(contents_->manifest.size() + kLastLineBytes);
  for (const auto& [offset, bytes] : sections) {
    for (const std::byte b : contents_->range(end, offset - end))
      if (b != std::byte{0}) contents_->fail("is damaged: there is something between its sections");
    end = offset + bytes;
  }
}

namespace {

class PackageWriter {
 public:
  explicit PackageWriter(const PackageContents& contents) : contents_(contents) {
    if (contents.parts.empty()) fail_input("a package of no parts");
    std::set<std::string> targets;
    for (const Executable& part : contents.parts)
      if (!targets.insert(part.target.id()).second)
        fail_input("a package with two parts for ", part.target.id());
    for (size_t file = 0; file < contents.files.size(); ++file)
      for (const WeightFile::Range& range : contents.files[file].ranges)
        ranges_.try_emplace({range.key, range.bytes}, file, range.offset);
    for (size_t i = 0; i < contents.parts.size(); ++i) add_part(i);
  }

  void write(const Sink& sink) const {
    int64_t written = 0;
    const auto put = [&](std::span<const std::byte> bytes) {
      if (!bytes.empty()) sink(bytes);
      written += std::ssize(bytes);
    };
    const auto put_section = [&](std::span<const std::byte> bytes) {
      static constexpr std::array<std::byte, kSectionAlignment> kZeros{};
      put(std::span(kZeros).first(
          static_cast<size_t>(round_up(written, kSectionAlignment) - written)));
      put(bytes);
    };
    const std::string text = manifest();
    put(std::as_bytes(std::span(text)));
    for (const std::vector<uint8_t>& part : parts_) put_section(std::as_bytes(std::span(part)));
    for (const Weight& weight : weights_) {
      if (weight.place) continue;
      const ConstantBytes loaded = weight.store->load(weight.constant);
      TCC_CHECK(loaded.key == weight.key, weight.name, ": another content at its second load");
      put_section(loaded.bytes);
    }
  }

 private:
  using Key = std::pair<Hash128, int64_t>;   // of a content
  using Place = std::pair<size_t, int64_t>;  // a file's number, an offset in it
  struct Weight {
    std::string name;
    int64_t bytes = 0;
    Hash128 key;
    std::shared_ptr<const ConstantStore> store;  // that has it
    size_t constant = 0;                         // its number there
    std::optional<Place> place = {};
  };

  void add_part(size_t i) {
    PackagePart part{contents_.parts[i], {}};
    each_executable(part.executable, [&](Executable& executable) {
      for (size_t k = 0; k < executable.constants.size(); ++k)
        part.constants.push_back(number_of(executable, k));
      executable.store = nullptr;
    });
    parts_.push_back(write_part(part));
  }

  // Returns the number of the weight that constant `k` is.
  int64_t number_of(const Executable& executable, size_t k) {
    const ConstantInfo& info = executable.constants[k];
    const std::optional<Hash128> known = executable.store->key(k);
    const Hash128 key = known ? *known : executable.store->load(k).key;
    const auto [entry, is_new] =
        numbers_.try_emplace({key, info.bytes}, static_cast<int64_t>(weights_.size()));
    if (is_new) {
      const auto found = ranges_.find({key, info.bytes});
      weights_.push_back({info.name, info.bytes, key, executable.store, k});
      if (found != ranges_.end()) weights_.back().place = found->second;
    }
    return entry->second;
  }

  // The kernels of a part, for people.
  static std::string kernels_text(const Executable& part) {
    std::string text;
    size_t variant = 0;
    each_executable(part, [&](const Executable& executable) {
      std::string sizes;  // of the variant
      if (&executable != &part)
        for (const auto& [dim, size] : part.variants[variant++].sizes)
          sizes += str(sizes.empty() ? "" : ",", printable(dim), "=", size);
      if (!sizes.empty()) sizes += ", ";
      for (size_t i = 0; i < executable.kernels.size(); ++i) {
        const KernelBinary& kernel = executable.kernels[i];
        text += str("#   ", sizes, "kernel ", i, ": ", printable(kernel.template_name), " ",
                    printable(kernel.region), " | ", printable(kernel.config), " | ",
                    printable(kernel.tier), " | ", kernel.code.size(), " bytes\n");
      }
    });
    return text;
  }

  std::string manifest() const {
    std::string text =
        str(kFirstLine, kPackageVersion, "\nname: ", printable(contents_.name), "\nmade_by: tcc ",
            build_version(), "\n# part: target | bytes | checksum\n");
    for (size_t i = 0; i < parts_.size(); ++i) {
      const Executable& part = contents_.parts[i];
      text += str("part: ", part.target.id(), " | ", parts_[i].size(), " | ",
                  content_hash(std::as_bytes(std::span(parts_[i]))).hex(), "\n");
      text += kernels_text(part);
    }
    if (!contents_.files.empty()) text += "# file: name | bytes\n";
    for (const WeightFile& file : contents_.files) {
      if (printable(file.name) != file.name) fail_input("the name of the file '", file.name, "'");
      text += str("file: ", file.name, " | ", file.bytes, "\n");
    }
    if (!weights_.empty())
      text += "# weight: name | bytes | checksum, then, if it is in a file: its number | offset\n";
    for (const Weight& weight : weights_) {
      text += str("weight: ", printable(weight.name), " | ", weight.bytes, " | ", weight.key.hex());
      if (weight.place) text += str(" | ", weight.place->first, " | ", weight.place->second);
      text += "\n";
    }
    return text + str(kLastLine, content_hash(std::as_bytes(std::span(text))).hex(), "\n");
  }

  const PackageContents& contents_;
  std::map<Key, Place> ranges_;
  std::map<Key, int64_t> numbers_;
  std::vector<Weight> weights_;
  std::vector<std::vector<uint8_t>> parts_;
};

}  // namespace

void write_package(const PackageContents& contents, const Sink& sink) {
  PackageWriter(contents).write(sink);
}

void save_package(const PackageContents& contents, const std::filesystem::path& path) {
  AtomicFile file(path);
  write_package(contents,
                [&](std::span<const std::byte> bytes) { file.write(bytes.data(), bytes.size()); });
  file.commit();
}

bool is_package(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;  // a pipe may never open
  std::ifstream file(path, std::ios::binary);
  std::string begin(kFirstLine.size(), ' ');
  return file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kFirstLine;
}

}  // namespace tcc::exec
