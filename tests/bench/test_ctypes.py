"""What examples/python_ctypes.py says without a library."""

import pathlib
import subprocess
import sys
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


if __name__ == "__main__":
    unittest.main()
