"""What examples/python_ctypes.py says without a library."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Ctypes(unittest.TestCase):
    def test_a_missing_library_is_one_line_that_says_what_to_do(self):
        script = [sys.executable, str(ROOT / "examples/python_ctypes.py"), "--library", "/no/libtcc-core.so"]
        result = subprocess.run(script, capture_output=True, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for part in ("/no/libtcc-core.so", "./dev build tcc-core", "--library"):
            self.assertIn(part, result.stderr)

    def test_the_library_of_its_own_prefix_comes_first(self):
        with tempfile.TemporaryDirectory() as folder:
            prefix = pathlib.Path(folder)
            (prefix / "share/tcc/examples").mkdir(parents=True)
            (prefix / "lib").mkdir()
            shutil.copy(ROOT / "examples/python_ctypes.py", prefix / "share/tcc/examples")
            (prefix / "lib/libtcc-core.so.0").write_text("no library")
            script = [sys.executable, str(prefix / "share/tcc/examples/python_ctypes.py")]
            result = subprocess.run(script, capture_output=True, text=True)
            self.assertIn(str((prefix / "lib/libtcc-core.so.0").resolve()), result.stderr)


if __name__ == "__main__":
    unittest.main()
