"""Build the package from `settings.ini`, the one place for its metadata; edit that file, not this one."""

from configparser import ConfigParser
from pathlib import Path

from setuptools import find_packages, setup

here = Path(__file__).parent
ini = ConfigParser(delimiters=["="])
ini.read(here / "settings.ini", encoding="utf-8")
cfg = ini["DEFAULT"]
lib = cfg["lib_path"]
suffix = "_requirements"
extras = {key.removesuffix(suffix): value.split() for key, value in cfg.items() if key.endswith(suffix)}
extras["all"] = sorted({need for name in extras if name not in ("dev", "docs") for need in extras[name]})
minimum, maximum = (int(cfg[key].split(".")[1]) for key in ("min_python", "max_python"))
status = dict(zip("12345", ("Planning", "Pre-Alpha", "Alpha", "Beta", "Production/Stable"), strict=True))

setup(
    name=cfg["lib_name"],
    version=cfg["version"],
    description=cfg["description"],
    keywords=cfg["keywords"].split(),
    author=cfg["author"],
    author_email=cfg["author_email"],
    url=cfg["git_url"],
    license=cfg["license"].upper(),
    license_files=["LICENSE"],
    long_description=(here / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    classifiers=[
        f"Development Status :: {cfg['status']} - {status[cfg['status']]}",
        f"Intended Audience :: {cfg['audience']}",
        f"Natural Language :: {cfg['language']}",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        *(f"Programming Language :: Python :: 3.{minor}" for minor in range(minimum, maximum + 1)),
    ],
    packages=find_packages(include=[lib, f"{lib}.*"]),
    package_data={lib: ["py.typed", "data/*/*"]},
    python_requires=f">={cfg['min_python']}",
    install_requires=cfg["requirements"].split(),
    extras_require=extras,
    entry_points={"nbdev": [f"{lib}={lib}._modidx:d"], "console_scripts": cfg["console_scripts"].split()},
)
